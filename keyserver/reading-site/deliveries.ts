/**
 * Bounds the documents that are being sent. Each holds a connection to a content host until its reader has taken all of it, and readers who take
 * nothing would hold them for as long as they like. So one address has a few at a time, and a delivery below a least rate is cut.
 */
import type { Request, RequestHandler, Response } from 'express';
import { cutConnection } from '../../node-support/plain-sockets.ts';
import { addressOf, clientsOf, type RequestLimits, retryAfter } from '../http/limits.ts';

type DeliveryLimits = Pick<RequestLimits, 'openDocumentsPerAddress' | 'documentWait' | 'readerSilence'>;

interface Line {
  open: number;
  /** Functions that hand a place to those that wait, in order. */
  readonly waiting: Set<() => void>;
}

/**
 * Lets a request for a document pass when its address has room for one more, and cuts it later if its reader falls silent.
 *
 * @param refuse - answers a request whose turn did not come in time
 */
export function takeTurns(limits: DeliveryLimits, refuse: RequestHandler): RequestHandler {
  const lines = new Map<string, Line>();
  const leave = (address: string, line: Line) => {
    const [takePlace] = line.waiting;
    if (takePlace) return takePlace();
    line.open -= 1;
    if (line.open === 0) lines.delete(address);
  };
  return async (request, response, next) => {
    const address = addressOf(request);
    const line = lines.get(address) ?? { open: 0, waiting: new Set() };
    lines.set(address, line);
    // A content host is asked on as many connections as eight addresses may hold: one that is shared gets half of them.
    if (line.open < limits.openDocumentsPerAddress * Math.min(4, clientsOf(request))) line.open += 1;
    else if (!(await hasPlace(line, response, limits.documentWait)))
      return refuse(request, retryAfter(response, limits.documentWait / 1000), next);
    if (response.destroyed) return leave(address, line); // events would not report any more that its client has left
    const timer = cutIfSilent(request, response, limits.readerSilence);
    response.once('close', () => {
      clearInterval(timer);
      leave(address, line);
    });
    next();
  };
}

/** Waits for a place. @returns whether there was one before the client left, and in time */
function hasPlace({ waiting }: Line, response: Response, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (place: boolean) => {
      clearTimeout(timer);
      response.off('close', giveUp);
      waiting.delete(takePlace);
      resolve(place);
    };
    const takePlace = () => end(true);
    const giveUp = () => end(false);
    const timer = setTimeout(giveUp, milliseconds);
    response.once('close', giveUp);
    waiting.add(takePlace);
  });
}

/** Bytes a second that a reader takes at the least. */
const LEAST_RATE = 2048;

/** Ends a delivery whose reader has taken too little, with bytes waiting all the while: a slow content host is not the reader's fault. @returns what to clear at its end */
function cutIfSilent({ socket }: Request, response: Response, milliseconds: number): NodeJS.Timeout {
  let [taken, waited] = [0, false];
  return setInterval(() => {
    const [now, waits] = [socket.bytesWritten - socket.writableLength, response.writableLength > 0];
    if (waited && waits && now - taken < (LEAST_RATE * milliseconds) / 1000) cutConnection(socket);
    [taken, waited] = [now, waits];
  }, milliseconds);
}
