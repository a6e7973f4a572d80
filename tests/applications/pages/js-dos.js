import { load } from './script.js';

export default async () => {
  await load('/vendor/emulators/emulators.js');
  const { emulators } = window;
  emulators.pathPrefix = '/vendor/emulators/';
  const settings = { dosboxConf: '[autoexec]\nmount c .\nc:\ntype tide.txt\n', jsdosConf: { version: '8' } };
  const text = { path: 'tide.txt', contents: new TextEncoder().encode('high water') };
  const machine = await emulators.dosboxWorker([settings, text]);
  let said = '';
  return new Promise((resolve) =>
    machine.events().onStdout((more) => {
      said += more;
      if (said.includes('high water')) resolve('high water');
    }));
};
