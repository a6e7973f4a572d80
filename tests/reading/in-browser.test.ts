/** The contract of reading, by the reader in the browser; `npm test` leaves out what takes further publications. */
import { inRelease } from '../support/tier.ts';
import { startBrowserReader } from './browser-reader.ts';
import { describeReading } from './contract.ts';

describeReading('the in-browser reader', startBrowserReader, inRelease);
