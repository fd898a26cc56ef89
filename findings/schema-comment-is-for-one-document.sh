#!/usr/bin/env bash
# yaml-language-server 1.25.0: the comment that names a schema counts for one document of a file; the others are not checked.
#
# Guess: `# yaml-language-server: $schema=FILE` in the first line is about the file.
# Seen: only the document that follows it is checked. The others of the file have no diagnostic, and nothing says so; each needs a comment of its own.
# The setting `yaml.schemas` counts for all documents.
# Who meets it: policies with their bindings, and all manifests of several documents: a misspelt field is underlined in the first one alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund yaml-language-server@1.25.0 vscode-languageserver-protocol@3.17.5

cat > schema.json <<'J'
{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
 "properties": {"name": {"type": "string"}}}
J
comment='# yaml-language-server: $schema=schema.json'
printf '%s\nname: a\nnmae: b\n---\nname: c\nnmae: d\n' "$comment" > one.yaml
printf '%s\nname: a\nnmae: b\n---\n%s\nname: c\nnmae: d\n' "$comment" "$comment" > each.yaml
printf 'name: a\nnmae: b\n---\nname: c\nnmae: d\n' > setting.yaml

cat > client.js <<'J'
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const rpc = require('vscode-languageserver-protocol/node');
const server = spawn('node', ['node_modules/yaml-language-server/bin/yaml-language-server', '--stdio']);
const client = rpc.createProtocolConnection(
  new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
const root = `file://${process.cwd()}`;
const schemas = { [`${root}/schema.json`]: ['setting.yaml'] };
client.onRequest('workspace/configuration', () => [{ validate: true, schemaStore: { enable: false }, schemas }, {}, {}, {}, {}]);
client.onRequest('client/registerCapability', () => null);
const found = new Map();
client.onNotification('textDocument/publishDiagnostics', ({ uri, diagnostics }) => {
  const name = uri.split('/').pop();
  found.set(name, diagnostics.map((one) => one.range.start.line + 1).sort());
  if (found.size === 3) {
    for (const one of ['one.yaml', 'each.yaml', 'setting.yaml']) console.log(`${one}: lines ${found.get(one).join(' ')}`);
    process.exit(0);
  }
});
client.listen();
(async () => {
  const folders = [{ uri: root, name: 'w' }];
  await client.sendRequest('initialize', {
    processId: null, rootUri: root, workspaceFolders: folders, capabilities: { workspace: { configuration: true } } });
  client.sendNotification('initialized', {});
  for (const name of ['one.yaml', 'each.yaml', 'setting.yaml']) {
    const textDocument = { uri: `${root}/${name}`, languageId: 'yaml', version: 1, text: fs.readFileSync(name, 'utf8') };
    client.sendNotification('textDocument/didOpen', { textDocument });
  }
})();
J
seen=$(timeout 60 node client.js)
echo "yaml-language-server 1.25.0"
echo "$seen"
[ "$seen" = "one.yaml: lines 3
each.yaml: lines 3 7
setting.yaml: lines 2 5" ] || { echo "this has changed"; exit 1; }
