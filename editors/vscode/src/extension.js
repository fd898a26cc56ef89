// Starts `ephor lsp` for YAML files and shows the texts of its commands as documents.
// Everything that is known of policies is in the program; here is only what is VS Code's.
'use strict';

const vscode = require('vscode');
const { LanguageClient, State } = require('vscode-languageclient/node');
const { ServerTexts, SCHEME } = require('./texts');

/** The client; undefined before it starts, and after it was stopped. */
let client;

/** The settings that the program reads from its flags when it starts. */
const RESTARTING = ['ephor.path'];

function serverOptions() {
  const command = vscode.workspace.getConfiguration('ephor').get('path') || 'ephor';
  const run = { command, args: ['lsp'] };
  return { run, debug: run };
}

function clientOptions(output) {
  return {
    documentSelector: [
      { scheme: 'file', language: 'yaml' },
      { scheme: 'untitled', language: 'yaml' },
      { scheme: 'file', pattern: '**/*.{yaml,yml}' },
    ],
    outputChannel: output,
    initializationOptions: vscode.workspace.getConfiguration('ephor'),
    synchronize: {
      configurationSection: 'ephor',
      fileEvents: vscode.workspace.createFileSystemWatcher('**/*.{yaml,yml,json}'),
    },
  };
}

/** Tells the server that texts of commands can be shown here. */
const showsTexts = {
  fillClientCapabilities(capabilities) {
    capabilities.experimental = { ...capabilities.experimental, ephor: { showText: true } };
  },
  initialize() {},
  getState: () => ({ kind: 'static' }),
  clear() {},
};

async function start(context, output, texts) {
  client = new LanguageClient('ephor', 'ephor', serverOptions(), clientOptions(output));
  client.registerFeature(showsTexts);
  context.subscriptions.push(client.onNotification('ephor/showText', (shown) => texts.show(shown)));
  try {
    await client.start();
  } catch (error) {
    const { command } = serverOptions().run;
    const choice = await vscode.window.showErrorMessage(
      `ephor cannot be started as \`${command}\`: ${error.message}`,
      'Open the setting',
    );
    if (choice) await vscode.commands.executeCommand('workbench.action.openSettings', 'ephor.path');
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running && running.state !== State.Stopped) await running.stop();
}

async function activate(context) {
  const output = vscode.window.createOutputChannel('ephor');
  const texts = new ServerTexts(vscode);
  const restart = async () => {
    await stop();
    await start(context, output, texts);
  };
  context.subscriptions.push(
    output,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, texts),
    vscode.commands.registerCommand('ephor.restart', restart),
    vscode.commands.registerCommand('ephor.showLog', () => output.show()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (RESTARTING.some((setting) => change.affectsConfiguration(setting))) void restart();
    }),
  );
  await start(context, output, texts);
}

module.exports = { activate, deactivate: stop };
