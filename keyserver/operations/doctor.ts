/** Checks of `wispr doctor` where a key server runs. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type Check, type Diagnosis, diagnose, failed, ok } from '../../node-support/doctor/diagnosis.ts';
import { diskChecks } from '../../node-support/doctor/machine.ts';
import {
  certificateChecks,
  certificateFinding,
  nameChecks,
  readinessCheck,
} from '../../node-support/doctor/network.ts';
import { isBucket } from '../../node-support/storage/open.ts';
import type { KeyServerConfig } from '../config/config.ts';
import type { MailConfig } from '../config/mail.ts';
import { createMailer } from '../mail/mailer.ts';
import { OPENID_BACK, openOpenId } from '../sign-in/openid-configuration.ts';
import { withState } from '../storage/with-state.ts';
import { storedChecks } from './stored.ts';

const LOOK_FIRST = 'docs/operations.md#look-first says what to do';
const RESTORE = 'see the log of the key server; docs/operations.md#a-lost-database';

/** Examines all that a key server depends on, whether or not it runs. */
export async function examineKeyServer(config: KeyServerConfig): Promise<Diagnosis[]> {
  const [around, stored] = await Promise.all([diagnose(await checksAround(config)), examineStored(config)]);
  return [...around, ...stored];
}

/** Does the checks that need the database. Without it, that is the one problem. */
async function examineStored(config: KeyServerConfig): Promise<Diagnosis[]> {
  const check = 'database';
  try {
    return await withState(config, async (state) => [
      { check, ...ok('answers, and has its master key') },
      ...(await diagnose(await storedChecks(state, config))),
    ]);
  } catch (error) {
    return [{ check, ...failed(error, RESTORE) }];
  }
}

async function checksAround(config: KeyServerConfig): Promise<Check[]> {
  const { origin, reading, admin, data, publication, mail } = config;
  const origins = [origin, reading.origin, reading.documents.origin, admin?.origin].filter((one) => one !== undefined);
  const directories = (publication?.push ?? []).filter((target) => !isBucket(target));
  return [
    ...(await diskChecks([...(data === undefined ? [] : [dirname(data)]), ...directories])),
    ...nameChecks(origins),
    ...fileChecks(config),
    ...certificateChecks(origins),
    ...(origin === undefined ? [] : [readinessCheck(origin, LOOK_FIRST)]),
    ...(mail ? [mailCheck(mail, reading.origin)] : []),
    ...(config.openid ? [openIdCheck(config, config.openid.issuer)] : []),
  ];
}

/** The files of certificates: what a listener serves from now on. */
function fileChecks({ tls, reading, admin }: KeyServerConfig): Check[] {
  const listeners = [tls, reading.tls, reading.documents.tls, admin?.tls];
  const files = new Set(listeners.flatMap((listener) => listener?.certificate ?? []));
  return Array.from(files, (file) => ({
    check: `certificate ${file}`,
    remedy: 'put a certificate there, in PEM form',
    run: async () => certificateFinding(new X509Certificate(await readFile(file)).validToDate.getTime() / 1000),
  }));
}

function mailCheck(mail: MailConfig, readingSite: string | undefined): Check {
  return {
    check: `mail by ${new URL(mail.smtp).host}`,
    remedy: 'check `mail` in the configuration',
    run: async () => {
      const mailer = createMailer(mail, { readingSite });
      try {
        await mailer.check();
        return ok('takes mail');
      } finally {
        await mailer.close();
      }
    },
  };
}

/** Asks the provider for its description, and tries the secret; signs nobody in. */
function openIdCheck(config: KeyServerConfig, issuer: string): Check {
  return {
    check: `sign-in at ${new URL(issuer).host}`,
    remedy: 'check `openid` in the configuration',
    run: async () => {
      const openid = await openOpenId(config, nowInSeconds);
      await openid?.provider.check(config.reading.origin + OPENID_BACK);
      return ok('takes the client and its secret');
    },
  };
}
