// Starts hocket-lsp-server for .mlir files, and shows the drawn schedule of the open one.
'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { drawSchedule, isSchedule, page } = require('./drawSchedule');
const { findTool } = require('./tools');

let client;

function tool(name) {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  return findTool(name, vscode.workspace.getConfiguration('hocket').get('toolsDirectory'), folders);
}

async function startServer() {
  const command = tool('hocket-lsp-server');
  client = new LanguageClient('hocket', 'Hocket', { command }, { documentSelector: [{ language: 'mlir' }] });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showWarningMessage(
      `Hocket: '${command}' does not start (${error.message}); set hocket.toolsDirectory to the directory of the tools`);
  }
}

async function restartServer() {
  await client?.stop();
  await startServer();
}

/** The kernel to draw with a file that holds a schedule alone; undefined if none was chosen. */
async function askForKernel() {
  const chosen = await vscode.window.showOpenDialog({
    title: 'A kernel that this schedule is for', filters: { MLIR: ['mlir'] }, canSelectMany: false });
  return chosen?.[0].fsPath;
}

async function showSchedule() {
  const document = vscode.window.activeTextEditor?.document;
  if (!document || document.languageId !== 'mlir') {
    vscode.window.showInformationMessage('Hocket: open a kernel or a schedule (.mlir) first');
    return;
  }
  await document.save();
  const settings = vscode.workspace.getConfiguration('hocket');
  let kernel = document.fileName;
  let schedule = settings.get('schedule');
  if (isSchedule(document.getText())) {
    schedule = kernel;
    kernel = await askForKernel();
    if (!kernel) return;
  }
  try {
    const svg = await drawSchedule(tool('hocketc'), kernel, { schedule, target: settings.get('target') });
    const title = `Schedule of ${vscode.workspace.asRelativePath(document.fileName)}`;
    vscode.window.createWebviewPanel('hocketSchedule', title, vscode.ViewColumn.Beside).webview.html = page(svg);
  } catch (error) {
    vscode.window.showErrorMessage(`Hocket: ${error.message}`);
  }
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand('hocket.showSchedule', showSchedule),
    vscode.commands.registerCommand('hocket.restartServer', restartServer));
  await startServer();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
