-- Reasonix (npm package `reasonix`). It reads its keys and models from its own configuration.
return { command = 'reasonix', args = { 'acp' }, install = 'npm install --global reasonix' }
