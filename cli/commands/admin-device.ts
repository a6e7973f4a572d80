/** `wispr admin device` and `wispr admin rename`: a lost device, and a subscriber with another address. */
import type { Command } from 'commander';
import { readConfig } from '../../keyserver/config/config.ts';
import { devicesOf, type ListedDevice, removeDevice } from '../../keyserver/readers/devices.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { knownSubscriber, renameSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { isoDay } from './describe.ts';

interface Options extends AdminFlags {
  readonly remove?: string;
}

export function addDeviceCommand(command: Command): void {
  command.option('--remove <id>', 'refuse this device from now on').action(runDevice);
}

export function addRenameCommand(command: Command): void {
  command.action(runRename);
}

async function runDevice(name: string, { config, json, remove }: Options): Promise<void> {
  await withState(readConfig(config), async (state) => {
    const { id, name: known } = await knownSubscriber(state.database, name);
    const devices = await devicesOf(state.database, id);
    if (remove === undefined) return print(json ? JSON.stringify(devices.map(asJson)) : describe(devices));
    const device = devices.find(({ short }) => short === remove);
    if (!device) throw new UsageError(`${known} has no device ${remove}`, '`wispr admin device NAME` lists them');
    await removeDevice(state, id, device.id);
    if (json) return print(JSON.stringify({ removed: remove }));
    say(`${describeDevice(device)} of ${known} is removed`);
    say('keys that it holds already stay good until they expire, after 30 days at the latest');
  });
}

async function runRename(name: string, to: string, { config, json }: Options): Promise<void> {
  const renamed = await withState(readConfig(config), (state) => renameSubscriber(state, name, to));
  if (json) return print(JSON.stringify(renamed));
  say(`${renamed.from} is called ${renamed.to} now, also for signing in; rights and devices stay`);
  sayHint('a shop, list or payment service that names them has to use the new name too');
}

function describe(devices: readonly ListedDevice[]): string {
  return devices.map(describeDevice).join('\n') || 'no devices';
}

export function describeDevice({ short, kind, created, lastSeen }: ListedDevice): string {
  const used = lastSeen === null ? 'not used yet' : `last used ${isoDay(lastSeen)}`;
  return `${short}  ${kind === 'browser' ? 'browser' : 'Reader'}, connected ${isoDay(created)}, ${used}`;
}

/** Leaves out the number that it has in the database. */
export function asJson({ short: id, kind, created, lastSeen }: ListedDevice) {
  return { id, kind, created, lastSeen };
}
