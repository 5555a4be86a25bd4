// What needs neither an editor nor a build: finding tools, and what hocketc is asked for.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { drawArguments, drawSchedule, isSchedule, page } = require('../src/drawSchedule');
const { findTool } = require('../src/tools');

function workspace() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hocket-test-'));
  fs.mkdirSync(path.join(folder, 'build', 'bin'), { recursive: true });
  return folder;
}

function writeTool(folder, name, script) {
  const file = path.join(folder, 'build', 'bin', name);
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

test('a tool is the configured one, else that of the workspace, else the PATH\'s', () => {
  const folder = workspace();
  const built = writeTool(folder, 'hocketc', 'exit 0');
  assert.strictEqual(findTool('hocketc', '/opt/bin', [folder]), '/opt/bin/hocketc');
  assert.strictEqual(findTool('hocketc', '${workspaceFolder}/b', ['/w']), '/w/b/hocketc');
  assert.strictEqual(findTool('hocketc', '', ['/nowhere', folder]), built);
  assert.strictEqual(findTool('hocket-lsp-server', '', [folder]), 'hocket-lsp-server');
});

test('a schedule alone is told from a kernel', () => {
  assert.ok(isSchedule('// for tile.kernel\ntile.schedule @s { }'));
  assert.ok(!isSchedule('tile.kernel @k() { }\ntile.schedule @s { }'));
  assert.ok(!isSchedule('attn.forward @f'));
});

test('hocketc is asked for a picture, and says why there is none', async () => {
  assert.deepStrictEqual(drawArguments('k.mlir', 'p.svg', { schedule: 'dual_wave', target: 'gfx950' }),
                         ['k.mlir', '--to=clusters', '-o', os.devNull, '--draw-schedule=p.svg', '--schedule=dual_wave',
                          '--target=gfx950']);
  assert.deepStrictEqual(drawArguments('k.mlir', 'p.svg'),
                         ['k.mlir', '--to=clusters', '-o', os.devNull, '--draw-schedule=p.svg']);
  const folder = workspace();
  const draws = writeTool(folder, 'draws',
                          'for a in "$@"; do case $a in --draw-schedule=*) echo "<svg/>" > "${a#*=}";; esac; done');
  assert.strictEqual((await drawSchedule(draws, 'k.mlir')).trim(), '<svg/>');
  const fails = writeTool(folder, 'fails', 'echo "k.mlir:1:1: error: no such step" >&2; exit 1');
  await assert.rejects(drawSchedule(fails, 'k.mlir'), /no such step/);
  await assert.rejects(drawSchedule('/nowhere/hocketc', 'k.mlir'), /'\/nowhere\/hocketc' is not there; set hocket/);
});

test('the page shows the picture and can run nothing', () => {
  const html = page('<?xml version="1.0"?><svg></svg>');
  assert.match(html, /<svg><\/svg>/);
  assert.match(html, /default-src 'none'/);
  assert.doesNotMatch(html, /<\?xml/);
});
