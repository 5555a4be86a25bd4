// Draws the schedule of a kernel by hocketc. No 'vscode' here, so that the tests run it as it is.
'use strict';

const { execFile } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

/** Whether `text` is a schedule alone, which needs a kernel to be drawn with. */
function isSchedule(text) {
  const code = text.replace(/\/\/.*$/gm, '');
  return /\btile\.schedule\b/.test(code) && !/\b(?:tile\.kernel|attn\.forward|attn\.backward)\b/.test(code);
}

/** hocketc's arguments that draw `kernel`, a file, to `picture`. */
function drawArguments(kernel, picture, { schedule = '', target = '' } = {}) {
  const options = [];
  if (schedule) options.push(`--schedule=${schedule}`);
  if (target) options.push(`--target=${target}`);
  return [kernel, '--to=clusters', '-o', os.devNull, `--draw-schedule=${picture}`, ...options];
}

/** The SVG that `hocketc` draws of `kernel`; rejects with what hocketc says where it does not compile. */
function drawSchedule(hocketc, kernel, options) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'hocket-'));
  const picture = path.join(directory, 'schedule.svg');
  const clean = () => fs.rmSync(directory, { recursive: true, force: true });
  return new Promise((resolve, reject) => {
    execFile(hocketc, drawArguments(kernel, picture, options), { maxBuffer: 1 << 26 }, (error, _, stderr) => {
      try {
        if (error) reject(new Error(error.code === 'ENOENT' ? notFound(hocketc) : stderr.trim() || error.message));
        else resolve(fs.readFileSync(picture, 'utf8'));
      } catch (failure) {
        reject(failure);
      } finally {
        clean();
      }
    });
  });
}

function notFound(hocketc) {
  return `'${hocketc}' is not there; set hocket.toolsDirectory to the directory of hocketc (build/bin)`;
}

/** A page that shows `svg`, and nothing that could run. */
function page(svg) {
  return `<!DOCTYPE html><html><head>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body { background: white; padding: 8px } svg { max-width: 100%; height: auto }</style></head><body>
${svg.replace(/<\?xml[^>]*\?>/, '')}</body></html>`;
}

module.exports = { drawArguments, drawSchedule, isSchedule, page };
