export { forEachInFlight } from '../node-support/in-flight.ts';
