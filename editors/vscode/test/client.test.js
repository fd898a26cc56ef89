// The extension and VS Code's own language client (vscode-languageclient) with the real program, in
// Node: what the module `vscode` gives is in `vscode.js`.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { test, before, after } = require('node:test');

const program = process.env.EPHOR;
const skip = program ? false : 'EPHOR names no program';

const vscode = require('./vscode');
const resolve = Module._resolveFilename;
Module._resolveFilename = function (name, ...rest) {
  return name === 'vscode' ? require.resolve('./vscode') : resolve.call(this, name, ...rest);
};

const { state, events, providers, diagnostics, diagnosticsChanged, TextDocument } = vscode.test;
const extension = require('../src/extension');
const context = { subscriptions: [] };
const token = new vscode.CancellationTokenSource().token;

const POLICY = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: no-latest
spec:
  rules:
    - name: tag
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        message: pin the tag
        pattern:
          spec:
            containers:
              - image: "!*:latest"
`;
const POD = `apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  containers:
    - name: c
      image: nginx:latest
`;

function file(name, text) {
  const full = path.join(state.folder, name);
  if (text !== undefined) fs.writeFileSync(full, text);
  return full;
}

/** Opens a file as the editor does. */
async function open(name) {
  const document = new TextDocument(file(name), fs.readFileSync(file(name), 'utf8'));
  state.documents.push(document);
  await events.onDidOpenTextDocument.fire(document);
  return document;
}

/** Types: the whole text changes. */
async function type(document, text) {
  const lines = document.text.split('\n');
  const range = new vscode.Range(0, 0, lines.length - 1, lines.at(-1).length);
  const change = { range, rangeOffset: 0, rangeLength: document.text.length, text };
  document.text = text;
  document.version += 1;
  await events.onDidChangeTextDocument.fire({ document, contentChanges: [change], reason: undefined });
}

/** The diagnostics of a document, once they are as wanted. */
async function wanted(document, isWanted) {
  const key = document.uri.toString();
  for (;;) {
    const found = diagnostics.get(key);
    if (found && isWanted(found)) return found;
    await new Promise((changed) => {
      const subscription = diagnosticsChanged.event(() => {
        subscription.dispose();
        changed();
      });
    });
  }
}

before(async () => {
  if (skip) return;
  state.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ephor-vscode-'));
  state.settings = { ephor: { path: program, kubernetes: '1.36', checkManifests: true, notes: true } };
  file('policy.yaml', POLICY);
  file('pod.yaml', POD);
  await extension.activate(context);
});

after(async () => {
  if (skip) return;
  await extension.deactivate();
  context.subscriptions.forEach((one) => one.dispose());
  fs.rmSync(state.folder, { recursive: true });
});

test('a manifest is underlined where a policy of the workspace strikes', { skip, timeout: 60000 }, async () => {
  assert.deepStrictEqual(state.errors, []);
  const pod = await open('pod.yaml');
  const [found] = await wanted(pod, (all) => all.length > 0);
  assert.match(found.message, /pin the tag/);
  assert.strictEqual(found.range.start.line, 7);
  await type(pod, POD.replace(':latest', ':1.29'));
  await wanted(pod, (all) => all.length === 0);
});

test('a misspelt field is a diagnostic with a quick fix', { skip, timeout: 60000 }, async () => {
  const policy = await open('policy.yaml');
  await type(policy, POLICY.replace('message:', 'mesage:'));
  const all = await wanted(policy, (found) => found.some((one) => one.message.includes('mesage')));
  const found = all.find((one) => one.message.includes('mesage'));
  assert.strictEqual(found.range.start.line, 12);
  const given = { diagnostics: [found], only: undefined, triggerKind: 1 };
  const actions = await providers.CodeActions[0].provideCodeActions(policy, found.range, given, token);
  assert.ok(actions.length > 0, 'no quick fix');
  await type(policy, POLICY);
  await wanted(policy, (left) => left.every((one) => !one.message.includes('mesage')));
});

test('hover and completion answer in a policy', { skip, timeout: 60000 }, async () => {
  const policy = state.documents.find((one) => one.fileName.endsWith('policy.yaml'));
  const at = new vscode.Position(11, 8);
  const hover = await providers.Hover[0].provideHover(policy, at, token);
  assert.ok(hover, 'no hover over `validate`');
  const start = { triggerKind: 0, triggerCharacter: undefined };
  await type(policy, POLICY.replace('kinds: [Pod]', 'kinds: [Deploym]'));
  const line = policy.text.split('\n').findIndex((text) => text.includes('Deploym'));
  const end = new vscode.Position(line, policy.text.split('\n')[line].indexOf(']'));
  const completion = await providers.CompletionItem[0].provideCompletionItems(policy, end, token, start);
  const labels = (completion.items ?? completion).map((item) => item.label.label ?? item.label);
  assert.ok(labels.includes('Deployment'), labels.slice(0, 10).join());
  await type(policy, POLICY);
});

test('a program that does not exist is named', { skip, timeout: 60000 }, async () => {
  state.settings.ephor.path = path.join(state.folder, 'no-such-program');
  await state.commands.get('ephor.restart')();
  assert.match(state.errors.join(), /cannot be started as .*no-such-program/);
});
