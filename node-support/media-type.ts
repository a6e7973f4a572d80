import { MIMEType } from 'node:util';

/** A media type with its parameters, as a browser reads `Content-Type`; `undefined` for what is none. */
export function parseMediaType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text);
  } catch {
    return undefined;
  }
}
