# Bosun. `make` lists the targets. Everything fetched goes to .deps/, everything built to target/.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
# One after the other, also under make -j: cargo uses all cores by itself, and the tests have deadlines.
.NOTPARALLEL:
.PHONY: help setup build demo test unit lua-test e2e lint fix bench interop ci clean

CARGO := .ci/cargo
NVIM := .deps/bin/nvim
STYLUA := .deps/bin/stylua
LUACHECK := .deps/bin/luacheck
AGENTS := reasonix opencode hermes codex claude
AGENT_BINS := $(AGENTS:%=.deps/bin/%)
LUA_SOURCES := lua nvim-plugin plugin tests

# What the tests and the demo are told: which Neovim, which sidecar. Relative paths would not survive a change of folder.
RUN := BOSUN_NVIM="$(CURDIR)/$(NVIM)" BOSUN_BIN="$(CURDIR)/target/release/bosun"

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(NVIM) ## Fetch what is missing (Neovim, unless one >= 0.11 is there) into .deps/

build: ## Build the sidecar: target/release/bosun
	@$(CARGO) build --release --locked -p bosun

demo: setup build ## Open Neovim on a sample project with the demo agent; without a terminal, play the session headless
	@$(RUN) bash tests/demo/run.sh

test: unit lua-test e2e ## Run all tests: Rust, Lua, end to end

unit: setup ## Run the sidecar's own tests
	@$(RUN) $(CARGO) test --release --locked -p bosun

lua-test: setup ## Run the Lua specs in a headless Neovim
	@$(RUN) $(NVIM) --clean --headless -l tests/lua/run.lua
	@for spec in tests/lua/ui_*.lua; do echo "$$spec"; $(RUN) $(NVIM) --clean --headless -l "$$spec" || exit 1; done

e2e: setup build ## Run the end-to-end tests: real Neovim, real sidecar, scripted agents; and the tidy test
	@$(RUN) $(CARGO) test --release --locked -p bosun-tests

lint: $(STYLUA) $(LUACHECK) ## Check formatting and lints of Rust and Lua
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --quiet --release --locked --workspace --all-targets --all-features -- -D warnings
	@$(STYLUA) --check $(LUA_SOURCES)
	@$(LUACHECK) --quiet $(LUA_SOURCES)

fix: $(STYLUA) ## Format Rust and Lua
	@$(CARGO) fmt --all
	@$(STYLUA) $(LUA_SOURCES)

bench: setup build ## Measure: floods of chunks and in a terminal, edits of a long file, reviews and large diffs
	@$(RUN) $(CARGO) bench --quiet --locked -p bosun-tests --bench stream --bench edit --bench terminal --bench review

interop: setup build $(AGENT_BINS) ## Drive real agents (Reasonix, OpenCode, Hermes, Codex, Claude) against a scripted model
	@$(RUN) BOSUN_AGENTS="$(CURDIR)/.deps/bin" $(CARGO) test --release --locked -p bosun-tests --features interop --test interop

ci: ## What continuous integration runs
	@echo '== lint'; $(MAKE) --no-print-directory lint
	@echo '== test'; $(MAKE) --no-print-directory test
	@echo '== demo, without a terminal'; $(MAKE) --no-print-directory demo </dev/null
	@echo '== interop'; $(MAKE) --no-print-directory interop

clean: ## Remove what was built; .deps/ stays
	@$(CARGO) clean

# A changed pin or recipe fetches again.
$(NVIM) $(STYLUA) $(LUACHECK) $(AGENT_BINS): .deps/bin/%: .ci/deps
	@.ci/deps $*
	@touch $@
