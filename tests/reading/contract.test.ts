/** The contract of reading, by the readers that answer by HTTP themselves. */
import { describeReading } from './contract.ts';
import { startReader, startReadingSite } from './node-readers.ts';

describeReading('the forward proxy', () => startReader('proxy'));
describeReading('the gateway', () => startReader('gateway'));
describeReading('the reading site', startReadingSite);
