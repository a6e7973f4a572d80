/** `wispr admin rotate`: another key in the place of one, while the key server runs. */
import { Argument, type Command } from 'commander';
import { type KeyServerConfig, readConfig } from '../../keyserver/config/config.ts';
import { replaceLostMasterKey } from '../../keyserver/operations/lost-master-key.ts';
import { rotateDevices, rotateHttpcrypt, rotateRecipient } from '../../keyserver/operations/rotate.ts';
import { type MasterRotation, removeOlderKeys, rotateMasterKey } from '../../keyserver/operations/rotate-master-key.ts';
import { nameOfSource } from '../../keyserver/storage/master-key.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { count } from '../../publisher/text.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { print, say, UsageError } from '../io/voice.ts';

interface Options extends AdminFlags {
  readonly removeOld?: boolean;
  readonly lost?: boolean;
}

const KEYS = ['master', 'recipient', 'devices', 'httpcrypt'] as const;

export function addRotateCommand(command: Command): void {
  command
    .addArgument(new Argument('<key>', 'which key').choices(KEYS))
    .option('--remove-old', 'master: remove the older versions, once no row needs them')
    .option('--lost', 'master: it is lost; go on with a new one, and without the keys in the database')
    .action(run);
}

async function run(key: (typeof KEYS)[number], options: Options): Promise<void> {
  if (key !== 'master' && (options.removeOld || options.lost))
    throw new UsageError('--remove-old and --lost are for "wispr admin rotate master"');
  const config = readConfig(options.config);
  const { outcome, said } = await rotations[key](config, options);
  if (options.json) print(JSON.stringify(outcome));
  else for (const line of said) say(line);
}

interface RotationResult {
  readonly outcome: object;
  readonly said: readonly string[];
}

const rotations: Readonly<
  Record<(typeof KEYS)[number], (config: KeyServerConfig, options: Options) => Promise<RotationResult>>
> = {
  master: async (config, { lost, removeOld }) => {
    if (lost) return replaceLost(config);
    const rotate = removeOld ? removeOlderKeys : rotateMasterKey;
    const outcome = await withState(config, (state) => rotate(state, config));
    return { outcome, said: describeMaster(outcome, config) };
  },
  recipient: async (config) => {
    const id = await withState(config, (state) => rotateRecipient(state, config));
    const said = [
      `the new public key is ${config.publicKey}: give it to the publisher, in place of the old one`,
      'the old key is good until the publisher has sealed a bundle to the new one',
    ];
    return { outcome: { recipient: id, publicKey: config.publicKey }, said };
  },
  devices: async (config) => {
    const devices = await withState(config, rotateDevices);
    const said = [`${count(devices, 'device')} will get a new device key at the next request; readers do nothing`];
    return { outcome: { devices }, said };
  },
  httpcrypt: async (config) => {
    await withState(config, rotateHttpcrypt);
    const said = ['restart the key server: its log has the new "key", which the publisher puts into wispr.json'];
    return { outcome: { renewed: 'httpcrypt' }, said };
  },
};

async function replaceLost(config: KeyServerConfig): Promise<RotationResult> {
  await replaceLostMasterKey(config);
  const said = [
    `made a new master key: ${nameOfSource(config.masterKey)}; keep a copy in another place`,
    `the set keys are gone: give ${config.publicKey} to the publisher, and start the key server; "wispr publish" brings them again`,
  ];
  return { outcome: { outcome: 'lost' }, said };
}

function describeMaster({ outcome, version, rows, older }: MasterRotation, { masterKey }: KeyServerConfig): string[] {
  const place = nameOfSource(masterKey);
  const versions = `version ${older.join(', ')}`;
  switch (outcome) {
    case 'added':
      return [
        `added version ${version} to ${place}; nothing is under it yet`,
        'copy the file to every other key server, then run this command again',
      ];
    case 'removed':
      return [older.length === 0 ? 'there are no older versions' : `removed ${versions} from ${place}`];
    case 'sealed':
      return [
        `${count(rows, 'row')} sealed anew: all are under version ${version} of the master key`,
        `copy ${place} to where its copy is kept; backups of the database from before need ${versions}`,
        `then remove ${versions}: "wispr admin rotate master --remove-old"`,
      ];
  }
}
