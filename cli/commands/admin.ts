import { type Command, Option } from 'commander';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { DEFAULT_CONFIG_FILE, readConfig } from '../../keyserver/config/config.ts';
import {
  type DeviceOverview,
  type Overview,
  overview,
  type SubscriberOverview,
} from '../../keyserver/operations/overview.ts';
import { type ImportResult, importBundle } from '../../keyserver/publication/import-bundle.ts';
import { knownOrigins } from '../../keyserver/publication/origins.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { DIRECTORY_FILTERS, type DirectoryFilter } from '../../keyserver/subscriptions/directory.ts';
import { exportSubscribers } from '../../keyserver/subscriptions/subscriber-export.ts';
import { type Revoked, revokeSubscribers } from '../../keyserver/subscriptions/subscribers.ts';
import { count } from '../../publisher/text.ts';
import { readBounded } from '../io/arguments.ts';
import { type AdminFlags, JSON_OPTION, share } from '../io/common-options.ts';
import { currentIo } from '../io/context.ts';
import { print, say, UsageError } from '../io/voice.ts';
import { addAuditCommand } from './admin-audit.ts';
import { addBackupCommand, addRestoreCommand } from './admin-backup.ts';
import { addDeviceCommand, addRenameCommand } from './admin-device.ts';
import { addAdminInviteCommand } from './admin-invite.ts';
import { addOperatorCommand } from './admin-operator.ts';
import { listPerson } from './admin-person.ts';
import { addPlanCommand, describePlan } from './admin-plan.ts';
import { addRotateCommand } from './admin-rotate.ts';
import { addListOptions, importList, type ListOptions } from './admin-subscribers.ts';
import { addTokenCommand, describeToken } from './admin-token.ts';
import { addWhyCommand } from './admin-why.ts';
import { describeGrant, describeHeldPlan, describePublication, isoDay } from './describe.ts';

interface ImportCommand extends ListOptions {
  readonly newPublisherKey?: string;
}

interface ListFlags extends AdminFlags {
  readonly csv?: boolean;
  readonly plan?: string;
  readonly state?: DirectoryFilter;
}

/** Names of lists, as spreadsheets give them; key bundles have others. */
const LIST_NAME = /\.(?:csv|tsv|txt)$/i;

/** Subscribers that are named on a screen. */
const NAMED = 100;

interface RevokeCommand extends AdminFlags {
  readonly dryRun?: boolean;
}

export function addAdminCommand(program: Command): void {
  const admin = program.command('admin').description('manage publisher, sets and subscribers of a key server');
  const importing = addSubcommand(admin, 'import', 'import a key bundle, or a list of subscribers').argument(
    '<file>',
    'the bundle that "wispr protect" made; or a list, whose name ends in .csv, .tsv or .txt',
  );
  addListOptions(importing.option('--new-publisher-key <id>', 'accept this new publisher key')).action(runImport);
  addSubcommand(admin, 'list', 'show publication, sets and subscribers; or one subscriber')
    .argument('[name]', 'the subscriber (default: all); with --csv, part of the name')
    .option('--csv', 'print the rights of subscribers as the list that "wispr admin import" takes')
    .option('--plan <name>', 'with --csv: only who subscribes to it')
    .addOption(new Option('--state <state>', 'with --csv: only who is').choices(DIRECTORY_FILTERS))
    .action(runList);
  addSubcommand(admin, 'revoke', 'end a subscription: devices are refused, sessions end')
    .argument('<names...>', 'of subscribers')
    .option('--dry-run', 'say what would end and what people keep, and do nothing')
    .action(runRevoke);
  addAdminInviteCommand(addSubcommand(admin, 'invite', 'make or mail links for everybody who never came'));
  addPlanCommand(addSubcommand(admin, 'plan', 'make, change or list what people subscribe to'));
  addWhyCommand(
    addSubcommand(admin, 'why', 'say why a subscriber can or cannot read a document, or a set')
      .argument('<name>', SUBSCRIBER)
      .argument('<url>', 'of a document; or the name of a set'),
  );
  addDeviceCommand(
    addSubcommand(admin, 'device', 'list the devices of a subscriber, or remove one').argument('<name>', SUBSCRIBER),
  );
  addRenameCommand(
    addSubcommand(admin, 'rename', 'give a subscriber another name')
      .argument('<name>', SUBSCRIBER)
      .argument('<new>', 'the new name'),
  );
  addTokenCommand(addSubcommand(admin, 'token', 'make, list or revoke publishing tokens'));
  addOperatorCommand(addSubcommand(admin, 'operator', "make a link to the operators' pages, list or remove operators"));
  addAuditCommand(addSubcommand(admin, 'audit', 'show, export or check what was changed, and by whom'));
  addRotateCommand(addSubcommand(admin, 'rotate', 'replace a key, while the key server runs'));
  addBackupCommand(
    addSubcommand(admin, 'backup', 'copy the database, while the key server runs').argument(
      '[file]',
      'the copy to make, without --daily',
    ),
  );
  addRestoreCommand(
    addSubcommand(
      admin,
      'restore',
      'put a copy of the database where there is none: in a file, or an empty PostgreSQL',
    ).argument('<file>', 'the copy'),
  );
}

const SUBSCRIBER = 'name of the subscriber';

function addSubcommand(admin: Command, name: string, description: string): Command {
  return share(admin.command(name).description(description), 'Common options of "wispr admin":', (command) =>
    command.option('-c, --config <file>', 'the configuration', DEFAULT_CONFIG_FILE).option(...JSON_OPTION),
  );
}

async function runImport(file: string, options: ImportCommand): Promise<void> {
  const { map, plan, dates, skipWrong, problems, endMissing } = options;
  const isAskedFor = (map ?? plan ?? dates ?? skipWrong ?? problems ?? endMissing) !== undefined;
  if (isAskedFor || LIST_NAME.test(file)) return importList(file, options);
  const { config: configFile, json, newPublisherKey } = options;
  const config = readConfig(configFile);
  const bytes = readBounded(file, MESSAGE_LIMITS.bundle, ', which no key bundle is');
  const result = await withState(config, async (state) =>
    importBundle(state, bytes, await knownOrigins(state.database, config), { newPublisherKey }),
  );
  if (json) print(JSON.stringify(result));
  else sayImport(result);
}

function sayImport({ outcome, publisher, publisherKey, name, sites, serial, sets, newSets }: ImportResult): void {
  if (outcome === 'unchanged') {
    say(`this bundle (serial ${serial}) is here already; nothing was changed`);
    return;
  }
  if (outcome === 'pinned') {
    say(`this key server now serves "${name}", and no other publisher: ${sites.join(', ')}`);
    say(`compare the publisher's fingerprint with what the publisher tells you: ${publisher}`);
    say(`and its publisher key: ${publisherKey}`);
  }
  say(`imported serial ${serial}: ${count(sets, 'set')}, ${newSets} new`);
}

async function runList(name: string | undefined, options: ListFlags): Promise<void> {
  const { config: configFile, json, csv, plan, state } = options;
  const config = readConfig(configFile);
  if (!csv && (plan ?? state) !== undefined) throw new UsageError('--plan and --state go with --csv');
  if (csv)
    return withState(config, async (opened) => {
      for await (const lines of exportSubscribers(opened, { search: name, plan, state }))
        if (lines !== '') print(lines.trimEnd());
    });
  if (name !== undefined) return listPerson(config, name, json === true);
  const shown = await withState(config, overview);
  print(json ? JSON.stringify(shown) : describeOverview(shown, currentIo().stdout.isTTY === true));
}

async function runRevoke(names: string[], { config: configFile, json, dryRun = false }: RevokeCommand): Promise<void> {
  const results = await withState(readConfig(configFile), (state) => revokeSubscribers(state, names, { dryRun }));
  if (json) return print(JSON.stringify(names.length === 1 ? results[0] : results));
  for (const result of results) sayRevoked(result, dryRun);
  say(
    "keys that a device holds already stay good until they expire, after 30 days or a plan's next period at the latest",
  );
  if (dryRun) say('nothing was changed');
}

function sayRevoked(result: Revoked, dryRun: boolean): void {
  const { members, devices, sessions, invitations, elsewhere } = result;
  const who = members > 0 ? `${result.name} and its ${count(members, 'member')}` : result.name;
  const verb = dryRun ? 'would be' : members > 0 ? 'are' : 'is';
  say(
    `${who} ${verb} revoked: ${count(devices, 'device')} refused, ${count(sessions, 'session')} ended, ${count(invitations, 'open invitation')} void`,
  );
  if (elsewhere.length > 0) say(`payments go on until they are cancelled there: ${elsewhere.join(', ')}`);
}

/** @param isShort - whether it is for a screen: of many subscribers, the first are named */
function describeOverview(
  { publisher, publication, tokens, sets, plans, subscribers }: Overview,
  isShort: boolean,
): string {
  const named = isShort ? subscribers.slice(0, NAMED) : subscribers;
  const others = subscribers.length - named.length;
  const lines = [
    publisher
      ? `Publisher ${publisher.id ?? '(waits for a bundle with a root)'}, key ${publisher.key}, bundle serial ${publisher.serial}`
      : 'No publisher yet: wispr admin import FILE',
    '',
    ...describePublication(publication),
    '',
    `Tokens (${tokens.length})`,
    ...tokens.map(describeToken),
    '',
    `Sets (${sets.length})`,
    ...sets.map(({ site, name, id, imported }) => `  ${site}  ${name}  ${id.slice(0, 8)}…  since ${isoDay(imported)}`),
    '',
    `Plans (${plans.length})`,
    ...plans.map(describePlan),
    '',
    `Subscribers (${subscribers.length})`,
    ...named.flatMap(describeSubscriber),
    ...(others > 0 ? [`  and ${count(others, 'other')}: name one, or --csv`] : []),
  ];
  return lines.join('\n');
}

function describeSubscriber(subscriber: SubscriberOverview): string[] {
  const {
    name,
    revoked,
    grants,
    subscriptions,
    devices,
    account,
    sessions,
    openInvitations,
    seats,
    taken,
    group,
    mailRefusal,
  } = subscriber;
  const rights = [
    ...(group === null ? [] : [`member of ${group}`]),
    ...subscriptions.map(describeHeldPlan),
    ...grants.map(describeGrant),
    ...(seats === null ? [] : [`${taken} of ${seats} seats taken`]),
  ];
  const access = revoked === null ? rights.join(', ') || 'no sets' : `revoked on ${isoDay(revoked)}`;
  const password = account ? ', password set' : '';
  const reading = account || sessions > 0 ? `${password}, ${count(sessions, 'session')}` : '';
  const open = openInvitations > 0 ? `, ${count(openInvitations, 'open invitation')}` : '';
  const refused = mailRefusal === null ? '' : `, mail is refused: ${mailRefusal}`;
  return [`  ${name}: ${access}${reading}${open}${refused}`, ...devices.map(describeDevice)];
}

function describeDevice({ id, kind, created, lastSeen, revoked }: DeviceOverview): string {
  const seen = lastSeen === null ? 'not seen yet' : `last seen ${isoDay(lastSeen)}`;
  return `    ${kind === 'browser' ? 'browser' : 'device'} ${id}…, connected ${isoDay(created)}, ${revoked === null ? seen : `revoked on ${isoDay(revoked)}`}`;
}
