// The grammar on the shipped kernels and schedules, by the engine that VS Code uses.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const oniguruma = require('vscode-oniguruma');
const textmate = require('vscode-textmate');

const root = path.join(__dirname, '..', '..', '..');

async function loadGrammar() {
  const wasm = fs.readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => {
      const file = path.join(__dirname, '..', 'syntaxes', 'mlir.tmLanguage.json');
      return textmate.parseRawGrammar(fs.readFileSync(file, 'utf8'), file);
    },
  });
  return registry.loadGrammar('source.mlir');
}

/** [text, innermost scope] of every token of `source`. */
function tokens(grammar, source) {
  const found = [];
  let state = textmate.INITIAL;
  for (const line of source.split('\n')) {
    const result = grammar.tokenizeLine(line, state);
    for (const token of result.tokens)
      found.push([line.slice(token.startIndex, token.endIndex), token.scopes[token.scopes.length - 1]]);
    state = result.ruleStack;
  }
  return found;
}

test('operations, steps, values, types and places have their scopes', async () => {
  const grammar = await loadGrammar();
  const source = [
    'tile.schedule @dual_wave unroll(2) wave_groups(2) {  // two groups',
    '  tile.cluster memory { read_k(0) fetch_k(+2) }',
    '}',
    'tile.step @qk -> !tile.frag<64x32xf32, acc> {',
    '  %product = tile.mma %read_k, %query, %zero : <64x128xbf16, lhs>, <128x32xbf16, rhs>, <64x32xf32, acc>',
    '}',
    'attn.forward @f element_type(bf16) head_dim(128) mask(causal) lse',
  ].join('\n');
  const expected = [
    ['tile.schedule', 'keyword.control.mlir'], ['@dual_wave', 'entity.name.function.mlir'],
    ['unroll', 'keyword.other.clause.mlir'], ['2', 'constant.numeric.mlir'],
    ['// two groups', 'comment.line.double-slash.mlir'], ['tile.cluster', 'keyword.control.mlir'],
    ['read_k', 'entity.name.function.step.mlir'], ['fetch_k', 'entity.name.function.step.mlir'],
    ['+2', 'constant.numeric.mlir'], ['@qk', 'entity.name.function.step.mlir'],
    ['!tile.frag', 'storage.type.mlir'], ['f32', 'storage.type.mlir'], ['%product', 'variable.other.mlir'],
    ['tile.mma', 'support.function.mlir'], ['lhs', 'constant.language.mlir'], ['attn.forward', 'keyword.control.mlir'],
    ['causal', 'constant.language.mlir'], ['bf16', 'storage.type.mlir'],
  ];
  const found = tokens(grammar, source);
  for (const [text, scope] of expected)
    assert.ok(found.some((token) => token[0] === text && token[1] === scope),
              `'${text}' should be ${scope}, found ${JSON.stringify(found.filter((token) => token[0] === text))}`);
});

test('no operation of the shipped kernels is left without a scope', async () => {
  const grammar = await loadGrammar();
  for (const folder of ['attn', 'tile', 'schedules'])
    for (const file of fs.readdirSync(path.join(root, 'kernels', folder)).filter((name) => name.endsWith('.mlir'))) {
      const plain = tokens(grammar, fs.readFileSync(path.join(root, 'kernels', folder, file), 'utf8'))
        .filter(([text, scope]) => scope === 'source.mlir' && /\b(?:tile|attn|arith)\.[a-z]/.test(text));
      assert.deepStrictEqual(plain, [], `${folder}/${file}`);
    }
});
