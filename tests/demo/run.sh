#!/usr/bin/env bash
# The demo: Neovim on a copy of the sample project, with Bosun and its demo agent, in folders of its own, so that
# nobody's settings or files are touched. Without a terminal the same session is played by headless.lua.
# Called by `make demo`, which says in BOSUN_NVIM and BOSUN_BIN what to run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
nvim=${BOSUN_NVIM:?run this with "make demo"}
: "${BOSUN_BIN:?run this with \"make demo\"}"

folder=$(mktemp -d "${TMPDIR:-/tmp}/bosun-demo.XXXXXX")
folder=$(cd "$folder" && pwd -P)
trap 'rm -rf "$folder"' EXIT
cp -R "$here/../sample" "$folder/project"
export XDG_CONFIG_HOME=$folder/config XDG_DATA_HOME=$folder/data XDG_STATE_HOME=$folder/state XDG_CACHE_HOME=$folder/cache
mkdir -p "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_STATE_HOME" "$XDG_CACHE_HOME"
# Also from inside a Neovim's terminal this is a Neovim of its own.
unset NVIM NVIM_APPNAME NVIM_LISTEN_ADDRESS VIM VIMRUNTIME MYVIMRC
cd "$folder/project"

if [ -t 0 ] && [ -t 1 ]; then
  "$nvim" -u "$here/init.lua" greet.py
  exit
fi
# headless.lua has a limit of its own; this one is for a Neovim that no longer runs Lua.
limit=()
if command -v timeout >/dev/null 2>&1; then limit=(timeout -k 5 120); fi
status=0
BOSUN_DEMO=headless ${limit[@]+"${limit[@]}"} "$nvim" --headless -u "$here/init.lua" -c "luafile $here/headless.lua" -c 'cquit 1' </dev/null || status=$?
if [ "$status" != 0 ]; then
  echo "bosun: the demo failed ($status); what was logged:" >&2
  find "$XDG_STATE_HOME" -type f -name '*.log*' -exec sh -c 'echo "-- $1" >&2; tail -n 60 "$1" >&2' _ {} \;
fi
exit "$status"
