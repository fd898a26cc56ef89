// Texts that the server sends (explanations, migrated policies, reports), as read-only documents.
'use strict';

const SCHEME = 'ephor';

class ServerTexts {
  constructor(vscode) {
    this.vscode = vscode;
    this.contents = new Map();
    this.changed = new vscode.EventEmitter();
    this.onDidChange = this.changed.event;
  }

  provideTextDocumentContent(uri) {
    return this.contents.get(uri.path) ?? '';
  }

  /** Shows a text beside the editor; a second one of the same title takes its place. */
  async show({ title, text }) {
    const name = title.replace(/[^\p{L}\p{N}.-]+/gu, '-');
    const path = `/${name}${isYaml(text) ? '.yaml' : '.txt'}`;
    const uri = this.vscode.Uri.from({ scheme: SCHEME, path });
    this.contents.set(path, text);
    this.changed.fire(uri);
    const document = await this.vscode.workspace.openTextDocument(uri);
    const viewColumn = this.vscode.ViewColumn.Beside;
    await this.vscode.window.showTextDocument(document, { viewColumn, preserveFocus: true, preview: true });
  }
}

/** Whether a text is a policy rather than a report. */
function isYaml(text) {
  return /^apiVersion:/m.test(text.split('\n', 3).join('\n'));
}

module.exports = { ServerTexts, SCHEME };
