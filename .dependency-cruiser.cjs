/**
 * The folders and who may depend on whom (CONTRIBUTING.md draws it):
 * `core` on nothing outside itself; the programs on `core`, never on each other; `cli`, `demo` and `bench` on all.
 */
const PROGRAMS = ['publisher', 'keyserver', 'client-proxy'];
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'core-stands-alone',
      comment: 'core/ knows no files, sockets, clocks or Node built-ins outside core/primitives',
      severity: 'error',
      from: { path: '^core/' },
      to: { pathNot: '^core/', dependencyTypesNot: ['npm', 'core'] },
    },
    {
      name: 'core-uses-no-package',
      comment: 'in core/, only the primitives may use a package (libsodium) or a built-in (node:crypto)',
      severity: 'error',
      from: { path: '^core/(?!primitives/)' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'core'] },
    },
    {
      name: 'one-module-imports-libsodium',
      severity: 'error',
      from: { pathNot: '^core/primitives/sodium\\.ts$' },
      to: { path: 'libsodium' },
    },
    ...PROGRAMS.map((program) => ({
      name: `${program}-depends-on-core-only`,
      severity: 'error',
      from: { path: `^${program}/` },
      to: { path: `^(?!${program}/|core/)(?:[a-z-]+)/`, pathNot: '^node_modules/' },
    })),
    {
      name: 'cache-config-stands-alone',
      severity: 'error',
      from: { path: '^cache-config/' },
      to: { path: `^(?:${PROGRAMS.join('|')}|cli|demo|bench|tests)/` },
    },
    {
      name: 'nothing-depends-on-tests',
      severity: 'error',
      from: { pathNot: '^tests/' },
      to: { path: '^tests/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    parser: 'swc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
