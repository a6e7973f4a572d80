import { userInfo } from 'node:os';

/** Name of the user of the operating system, also where `sudo` and cron set no `USER`; `undefined` where there is none, as in some containers. */
export function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
