-- The agent that is built into the sidecar: no model, no key; it replaces, appends and plans. `{bosun}` is the
-- sidecar.
return { command = '{bosun}', args = { 'demo-agent' } }
