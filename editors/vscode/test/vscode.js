// A stand-in for the module `vscode` with what the extension and vscode-languageclient use of it:
// a workspace of one folder, documents that a test opens and changes, collected diagnostics.
// Providers that the client registers are kept by kind, so that a test can ask them as the editor
// would. What is not here is an error when it is called, not a silent undefined.
'use strict';

const fs = require('node:fs');
const { URI } = require('vscode-uri');

class Disposable {
  constructor(dispose = () => {}) {
    this.dispose = dispose;
  }
  static from(...all) {
    return new Disposable(() => all.forEach((one) => one.dispose()));
  }
}

class EventEmitter {
  constructor() {
    this.listeners = new Set();
    this.event = (listener, self, disposables) => {
      const bound = self ? listener.bind(self) : listener;
      this.listeners.add(bound);
      const subscription = new Disposable(() => this.listeners.delete(bound));
      disposables?.push(subscription);
      return subscription;
    };
  }
  fire(event) {
    return Promise.all([...this.listeners].map((listener) => listener(event)));
  }
  dispose() {
    this.listeners.clear();
  }
}

class Position {
  constructor(line, character) {
    this.line = line;
    this.character = character;
  }
}

class Range {
  constructor(a, b, c, d) {
    this.start = typeof a === 'number' ? new Position(a, b) : a;
    this.end = typeof a === 'number' ? new Position(c, d) : b;
  }
}

/** A class that holds what it is constructed with under these names. */
function record(...names) {
  return class {
    constructor(...values) {
      names.forEach((name, at) => (this[name] = values[at]));
    }
  };
}

class TextDocument {
  constructor(path, text) {
    Object.assign(this, { uri: URI.file(path), languageId: 'yaml', version: 1, text, isClosed: false });
    this.fileName = path;
  }
  getText() {
    return this.text;
  }
  get lineCount() {
    return this.text.split('\n').length;
  }
}

const events = {};
const event = (name) => (events[name] ??= new EventEmitter()).event;
const providers = {};
const register = (kind) => (selector, provider) => {
  (providers[kind] ??= []).push(provider);
  return new Disposable();
};

const diagnostics = new Map();
const state = { documents: [], folder: undefined, settings: {}, shown: [], errors: [], commands: new Map() };
const diagnosticsChanged = new EventEmitter();

const languages = {
  match: () => 10,
  createDiagnosticCollection: () => ({
    set(uri, all) {
      diagnostics.set(uri.toString(), all ?? []);
      void diagnosticsChanged.fire(uri.toString());
    },
    delete: (uri) => diagnostics.delete(uri.toString()),
    clear: () => diagnostics.clear(),
    dispose: () => diagnostics.clear(),
  }),
};
for (const kind of [
  'Completion Item', 'Hover', 'Definition', 'Reference', 'Code Lens', 'Code Actions', 'Document Symbol',
  'Workspace Symbol', 'Document Formatting Edit', 'Document Range Formatting Edit', 'Rename', 'Signature Help',
  'Document Highlight', 'Document Link', 'Folding Range', 'Selection Range', 'Declaration', 'Implementation',
  'Type Definition', 'Color', 'Call Hierarchy', 'Linked Editing Range', 'Document Semantic Tokens',
  'On Type Formatting Edit', 'Inline Values', 'Inlay Hints', 'Type Hierarchy', 'Document Range Semantic Tokens',
]) {
  const name = kind.replaceAll(' ', '');
  languages[`register${name}Provider`] = register(name);
}

const uriOf = (parts) => URI.from(parts);
const workspace = {
  get textDocuments() {
    return state.documents;
  },
  get workspaceFolders() {
    return [{ uri: URI.file(state.folder), name: 'folder', index: 0 }];
  },
  getWorkspaceFolder: () => workspace.workspaceFolders[0],
  notebookDocuments: [],
  isTrusted: true,
  getConfiguration: (section) => ({
    get: (key, fallback) => (section ? state.settings[section] : state.settings)?.[key] ?? fallback,
    has: () => true,
    inspect: () => undefined,
    ...(section ? state.settings[section] : state.settings),
  }),
  createFileSystemWatcher: () => ({
    onDidCreate: event('created'), onDidChange: event('changed'), onDidDelete: event('deleted'), dispose() {},
  }),
  registerTextDocumentContentProvider: (scheme, provider) => {
    providers[scheme] = [provider];
    return new Disposable();
  },
  openTextDocument: async (uri) => ({ uri, text: providers[uri.scheme][0].provideTextDocumentContent(uri) }),
  applyEdit: async () => true,
  fs: { stat: async (uri) => fs.promises.stat(uri.fsPath) },
};
for (const name of [
  'onDidOpenTextDocument', 'onDidChangeTextDocument', 'onDidCloseTextDocument', 'onWillSaveTextDocument',
  'onDidSaveTextDocument', 'onDidChangeConfiguration', 'onDidChangeWorkspaceFolders', 'onDidCreateFiles',
  'onDidRenameFiles', 'onDidDeleteFiles', 'onWillCreateFiles', 'onWillRenameFiles', 'onWillDeleteFiles',
  'onDidOpenNotebookDocument', 'onDidChangeNotebookDocument', 'onDidCloseNotebookDocument',
  'onDidSaveNotebookDocument',
]) workspace[name] = event(name);

const channel = () => ({
  name: 'ephor', append() {}, appendLine() {}, replace() {}, clear() {}, show() {}, hide() {}, dispose() {},
  info() {}, warn() {}, error() {}, debug() {}, trace() {},
});
const window = {
  createOutputChannel: channel,
  showErrorMessage: async (text) => void state.errors.push(text),
  showWarningMessage: async () => undefined,
  showInformationMessage: async () => undefined,
  showTextDocument: async (document) => void state.shown.push(document),
  withProgress: async (options, task) => task({ report() {} }, { onCancellationRequested: event('cancel') }),
  onDidChangeActiveTextEditor: event('onDidChangeActiveTextEditor'),
  onDidChangeVisibleTextEditors: event('onDidChangeVisibleTextEditors'),
  visibleTextEditors: [],
  tabGroups: { all: [], onDidChangeTabs: event('tabs'), onDidChangeTabGroups: event('groups') },
};

const commands = {
  registerCommand: (name, handler) => {
    state.commands.set(name, handler);
    return new Disposable(() => state.commands.delete(name));
  },
  executeCommand: async (name, ...parts) => state.commands.get(name)?.(...parts),
};

/** Names → numbers in this order, and back. */
function enumeration(first, ...names) {
  return Object.fromEntries(names.flatMap((name, at) => [[name, at + first], [at + first, name]]));
}

class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
}
CodeActionKind.Empty = new CodeActionKind('');
for (const [name, value] of Object.entries({
  QuickFix: 'quickfix', Refactor: 'refactor', RefactorExtract: 'refactor.extract', RefactorMove: 'refactor.move',
  RefactorInline: 'refactor.inline', RefactorRewrite: 'refactor.rewrite', Source: 'source',
  SourceOrganizeImports: 'source.organizeImports', SourceFixAll: 'source.fixAll', Notebook: 'notebook',
})) CodeActionKind[name] = new CodeActionKind(value);

module.exports = {
  Disposable, EventEmitter, Position, Range, languages, workspace, window, commands,
  Uri: Object.assign(URI, { from: uriOf }),
  Location: record('uri', 'range'),
  Diagnostic: record('range', 'message', 'severity'),
  DiagnosticRelatedInformation: record('location', 'message'),
  CompletionItem: record('label', 'kind'),
  CompletionList: record('items', 'isIncomplete'),
  CodeLens: record('range', 'command'),
  CodeAction: record('title', 'kind'),
  Hover: record('contents', 'range'),
  TextEdit: class extends record('range', 'newText') {
    static replace(range, text) {
      return new this(range, text);
    }
    static insert(position, text) {
      return new this(new Range(position, position), text);
    }
    static delete(range) {
      return new this(range, '');
    }
  },
  WorkspaceEdit: class {
    constructor() {
      this.edits = [];
    }
    replace(uri, range, text) {
      this.edits.push({ uri, range, text });
    }
    set(uri, edits) {
      this.edits.push(...edits.map((edit) => ({ uri, ...(Array.isArray(edit) ? edit[0] : edit) })));
    }
  },
  MarkdownString: class {
    constructor(value = '') {
      this.value = value;
    }
    appendMarkdown(text) {
      this.value += text;
      return this;
    }
  },
  SnippetString: record('value'),
  DocumentSymbol: record('name', 'detail', 'kind', 'range', 'selectionRange'),
  SymbolInformation: record('name', 'kind', 'containerName', 'location'),
  DocumentLink: record('range', 'target'),
  CallHierarchyItem: record('kind', 'name', 'detail', 'uri', 'range', 'selectionRange'),
  TypeHierarchyItem: record('kind', 'name', 'detail', 'uri', 'range', 'selectionRange'),
  InlayHint: record('position', 'label', 'kind'),
  RelativePattern: record('baseUri', 'pattern'),
  CancellationError: class extends Error {},
  CancellationTokenSource: class {
    constructor() {
      this.cancelled = new EventEmitter();
      this.token = { isCancellationRequested: false, onCancellationRequested: this.cancelled.event };
    }
    cancel() {
      this.token.isCancellationRequested = true;
      void this.cancelled.fire();
    }
    dispose() {}
  },
  CodeActionKind,
  DiagnosticSeverity: enumeration(0, 'Error', 'Warning', 'Information', 'Hint'),
  DiagnosticTag: enumeration(1, 'Unnecessary', 'Deprecated'),
  CompletionItemKind: enumeration(0, 'Text', 'Method', 'Function', 'Constructor', 'Field', 'Variable', 'Class',
    'Interface', 'Module', 'Property', 'Unit', 'Value', 'Enum', 'Keyword', 'Snippet', 'Color', 'File', 'Reference',
    'Folder', 'EnumMember', 'Constant', 'Struct', 'Event', 'Operator', 'TypeParameter'),
  CompletionItemTag: enumeration(1, 'Deprecated'),
  CompletionTriggerKind: enumeration(0, 'Invoke', 'TriggerCharacter', 'TriggerForIncompleteCompletions'),
  CodeActionTriggerKind: enumeration(1, 'Invoke', 'Automatic'),
  SignatureHelpTriggerKind: enumeration(1, 'Invoke', 'TriggerCharacter', 'ContentChange'),
  SymbolKind: enumeration(0, 'File', 'Module', 'Namespace', 'Package', 'Class', 'Method', 'Property', 'Field',
    'Constructor', 'Enum', 'Interface', 'Function', 'Variable', 'Constant', 'String', 'Number', 'Boolean', 'Array',
    'Object', 'Key', 'Null', 'EnumMember', 'Struct', 'Event', 'Operator', 'TypeParameter'),
  SymbolTag: enumeration(1, 'Deprecated'),
  InlayHintKind: enumeration(1, 'Type', 'Parameter'),
  FoldingRangeKind: enumeration(1, 'Comment', 'Imports', 'Region'),
  FileType: enumeration(0, 'Unknown', 'File', 'Directory'),
  TextDocumentSaveReason: enumeration(1, 'Manual', 'AfterDelay', 'FocusOut'),
  TextDocumentChangeReason: enumeration(1, 'Undo', 'Redo'),
  ProgressLocation: enumeration(1, 'SourceControl', 'Window').Window ? { SourceControl: 1, Window: 10, Notification: 15 } : {},
  ViewColumn: { Active: -1, Beside: -2, One: 1 },
  LogLevel: enumeration(0, 'Off', 'Trace', 'Debug', 'Info', 'Warning', 'Error'),
  EndOfLine: enumeration(1, 'LF', 'CRLF'),
  NotebookCellKind: enumeration(1, 'Markup', 'Code'),
  version: '1.100.0',
  env: { language: 'en', appName: 'test', logLevel: 2, onDidChangeTelemetryEnabled: event('telemetry') },
  extensions: { getExtension: () => undefined },
  l10n: { t: (text) => text },
  test: { state, events, providers, diagnostics, diagnosticsChanged, TextDocument },
};
