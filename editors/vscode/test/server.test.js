// The language server as an editor talks to it: diagnostics of a faulty kernel, hover on an operation. Skipped without a build
// (HOCKET_BIN names its directory of tools; default: build/bin of the checkout).
'use strict';

const assert = require('node:assert');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { drawSchedule } = require('../src/drawSchedule');

const root = path.join(__dirname, '..', '..', '..');
const bin = process.env.HOCKET_BIN ?? path.join(root, 'build', 'bin');
const server = path.join(bin, 'hocket-lsp-server');
const hocketc = path.join(bin, 'hocketc');

/** A client that speaks just enough of the protocol. */
class Client {
  constructor() {
    this.process = spawn(server, { stdio: ['pipe', 'pipe', 'ignore'] });
    this.pending = Buffer.alloc(0);
    this.waiting = [];
    this.next = 1;
    this.process.stdout.on('data', (data) => this.receive(data));
  }
  receive(data) {
    this.pending = Buffer.concat([this.pending, data]);
    for (;;) {
      const end = this.pending.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.pending.subarray(0, end).toString())[1]);
      if (this.pending.length < end + 4 + length) return;
      const message = JSON.parse(this.pending.subarray(end + 4, end + 4 + length).toString());
      this.pending = this.pending.subarray(end + 4 + length);
      const index = this.waiting.findIndex((each) => each.matches(message));
      if (index >= 0) this.waiting.splice(index, 1)[0].resolve(message);
    }
  }
  wait(matches) {
    return new Promise((resolve) => this.waiting.push({ matches, resolve }));
  }
  send(message) {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }
  async request(method, params) {
    const id = this.next++;
    const answer = this.wait((message) => message.id === id);
    this.send({ id, method, params });
    return (await answer).result;
  }
  open(uri, text) {
    const published = this.wait((message) => message.method === 'textDocument/publishDiagnostics' && message.params.uri === uri);
    this.send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'mlir', version: 1, text } } });
    return published.then((message) => message.params.diagnostics);
  }
}

test('diagnostics and hover', { skip: !fs.existsSync(server), timeout: 60000 }, async () => {
  const client = new Client();
  try {
    await client.request('initialize', { processId: null, rootUri: null, capabilities: {} });
    client.send({ method: 'initialized', params: {} });
    const faulty = await client.open('file:///faulty.mlir', 'attn.forward @f element_type(bf16) head_dim(128) mask(sometimes)\n');
    assert.ok(faulty.some((each) => /mask|sometimes/i.test(each.message)), JSON.stringify(faulty));
    const right = await client.open('file:///right.mlir', 'attn.forward @f element_type(bf16) head_dim(128)\n');
    assert.deepStrictEqual(right, []);
    const hover = await client.request('textDocument/hover',
                                       { textDocument: { uri: 'file:///right.mlir' }, position: { line: 0, character: 3 } });
    assert.match(JSON.stringify(hover), /attn\.forward/);
  } finally {
    client.process.kill();
  }
});

test('hocketc draws a shipped kernel', { skip: !fs.existsSync(hocketc), timeout: 60000 }, async () => {
  const kernel = path.join(root, 'kernels', 'attn', 'fmha_fwd_d128_bf16_causal.mlir');
  assert.match(await drawSchedule(hocketc, kernel, { schedule: 'dual_wave', target: 'gfx950' }), /<svg/);
});
