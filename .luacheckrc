-- What luacheck is told: Neovim's Lua is LuaJIT with one more global.
std = 'luajit'
globals = { 'vim' }
max_line_length = 120
cache = false
self = false
