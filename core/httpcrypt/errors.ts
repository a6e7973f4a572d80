import { type ErrorCatalogue, errorClass } from '../errors.ts';

/** The checks of docs/spec/httpcrypt.md that can fail, and what comes of it. */
export const CHANNEL_ERRORS = {
  'channel-key-refused': {
    step: 'C1, C2, C3',
    means: 'no current key of the server was found that its channel key has signed',
    remedy:
      'check the clock of this machine, and URL and key of the endpoint; try another network; or leave HTTPCrypt out, in the settings of the Reader or `--httpcrypt-to`',
  },
  'channel-unreadable': {
    step: 'C4',
    means: 'what came back is not an answer of the server to this request, or only the beginning of one',
    remedy: 'try another network; or leave HTTPCrypt out, in the settings of the Reader or `--httpcrypt-to`',
  },
  'channel-not-repeated': {
    means: 'no answer to a request could be opened, which was not sent again because it may have been carried out',
    remedy: 'look first whether it was carried out, and send it again only if not: the server may have been restarted',
  },
} as const satisfies ErrorCatalogue;

export type ChannelErrorCode = keyof typeof CHANNEL_ERRORS;

/** A server key or an answer failed a check. Of an answer that is cut, what came before may have been used. */
export class ChannelError extends errorClass(CHANNEL_ERRORS) {}

/** Error of step C4. */
export function unreadable(what: string): ChannelError {
  return new ChannelError('channel-unreadable', `what came over HTTPCrypt cannot be read: ${what}`);
}
