/** `wispr admin list NAME`: one subscriber. */
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { describePerson, type Person, type SetAnswer } from '../../keyserver/operations/person.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { knownSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { count } from '../../publisher/text.ts';
import { print } from '../io/voice.ts';
import { asJson, describeDevice } from './admin-device.ts';
import { describeRight, isoDay } from './describe.ts';

export async function listPerson(config: KeyServerConfig, name: string, json: boolean): Promise<void> {
  const person = await withState(config, async (state) =>
    describePerson(state, await knownSubscriber(state.database, name)),
  );
  print(json ? JSON.stringify({ ...person, devices: person.devices.map(asJson) }) : describe(person));
}

function describe({ name, revoked, group, seats, rights, sets, devices, ...person }: Person): string {
  const { account, sessions, openInvitations, mailRefusal } = person;
  const open = openInvitations > 0 ? `, ${count(openInvitations, 'open invitation')}` : '';
  return [
    `${name}${group === null ? '' : `, a member of ${group}`}${revoked === null ? '' : `, revoked on ${isoDay(revoked)}`}`,
    ...(seats ? [`  ${seats.taken} of ${seats.seats} seats taken`] : []),
    `  ${account ? 'password set' : 'no password'}, ${count(sessions, 'session')}${open}`,
    ...(mailRefusal === null ? [] : [`  mail is refused: ${mailRefusal}`]),
    ...section('Rights', rights.map(describeRight)),
    ...section('Newest sets', sets.map(describeSet)),
    ...section('Devices', devices.map(describeDevice)),
  ].join('\n');
}

function section(title: string, lines: readonly string[]): string[] {
  return ['', `${title} (${lines.length})`, ...lines.map((line) => `  ${line}`)];
}

function describeSet({ set, can, reason, by }: SetAnswer): string {
  const right = by ? describeRight(by) : reason === 'revoked' ? 'revoked' : 'no right covers it, or not its time';
  return `${set}  ${can ? 'can be read' : 'cannot be read'}: ${right}${reason === 'lapsed' ? ', which has ended' : ''}`;
}
