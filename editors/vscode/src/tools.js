// Where Hocket's tools are. No 'vscode' here, so that the tests run it as it is.
'use strict';

const fs = require('fs');
const path = require('path');

/** Whether `file` can be executed by this user. */
function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * The path of tool `name`: in `configured` (with ${workspaceFolder} replaced) if that is set, else in build/bin of the first of
 * `folders` that has it, else the bare name, which the PATH resolves.
 */
function findTool(name, configured, folders) {
  if (configured)
    return path.join(configured.replace('${workspaceFolder}', folders[0] ?? ''), name);
  for (const folder of folders) {
    const candidate = path.join(folder, 'build', 'bin', name);
    if (isExecutable(candidate)) return candidate;
  }
  return name;
}

module.exports = { findTool };
