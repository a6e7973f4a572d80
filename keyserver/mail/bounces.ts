/** Addresses that the mail server refused for good: mail to many leaves them out, until a mail is taken again or the subscriber has another name. */
import type { Database } from '../storage/database.ts';
import { nameKey } from '../subscriptions/subscribers.ts';

/** @returns notes what became of a mail to a name, where it is that of a subscriber */
export function noteBounces(database: Database): (name: string, refusal: string | undefined) => Promise<void> {
  const cleared = `UPDATE mailings SET refusal = NULL WHERE refusal IS NOT NULL
    AND subscriber = (SELECT id FROM subscribers WHERE name_key = ?)`;
  const noted = `INSERT INTO mailings (subscriber, refusal) SELECT id, ? FROM subscribers WHERE name_key = ?
    ON CONFLICT (subscriber) DO UPDATE SET refusal = excluded.refusal`;
  return async (name, refusal) => {
    if (refusal === undefined) await database.run(cleared, nameKey(name));
    else await database.run(noted, refusal, nameKey(name));
  };
}
