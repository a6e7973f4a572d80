/** HTML carriers that are not the one valid spelling. */
import { concat, utf8 } from '../../../core/encoding/bytes.ts';
import { encodeHtmlCarrier } from '../../../core/object/carrier.ts';
import { type ObjectVector, toBase64 } from '../format.ts';
import { refused, smallObject } from './vector.ts';

export async function refusedCarriers(): Promise<ObjectVector[]> {
  const object = await smallObject('malformed carrier', { paddingLength: 1 });
  const page = '<!doctype html><title>Read this with a Reader</title>\n';
  const good = new TextDecoder().decode(encodeHtmlCarrier(object, utf8(page)));
  const lines = good.split('\n');
  const end = lines.indexOf('-->');
  const edited = (change: (copy: string[]) => void) => {
    const copy = [...lines];
    change(copy);
    return copy.join('\n');
  };
  const [first = '', last = ''] = [lines[1], lines[end - 1]];
  const malformed: Record<string, string> = {
    'CR LF inside': edited((copy) => copy.splice(1, 1, `${first}\r`)),
    'a space at the end of a line': edited((copy) => copy.splice(2, 1, `${copy[2]} `)),
    'an empty line': edited((copy) => copy.splice(1, 0, '')),
    'an empty line at the end': edited((copy) => copy.splice(end, 0, '')),
    'a line of 77 characters': edited((copy) => copy.splice(1, 1, `${first}A`)),
    'a line of 80 characters': edited((copy) =>
      copy.splice(1, 2, first + (copy[2] ?? '').slice(0, 4), (copy[2] ?? '').slice(4)),
    ),
    'a short line in the middle': edited((copy) => copy.splice(1, 1, first.slice(0, 72), first.slice(72))),
    'padding in the middle': edited((copy) => copy.splice(1, end - 1, ...paddedLines(object))),
    'the alphabet of base64url': edited((copy) => copy.splice(1, end - 1, ...copy.slice(1, end).map(otherAlphabet))),
    'without padding': edited((copy) => copy.splice(end - 1, 1, last.replaceAll('=', ''))),
    'an unused bit set': edited((copy) => copy.splice(end - 1, 1, withUnusedBit(last))),
    'a character that is none': edited((copy) => copy.splice(1, 1, `!${first.slice(1)}`)),
    'no end': lines.slice(0, end).join('\n'),
    'no end, and a page': edited((copy) => copy.splice(end, 1)),
    'an end without its line feed': lines.slice(0, end + 1).join('\n'),
    'an end with CR LF': edited((copy) => copy.splice(end, 1, '-->\r')),
    'only its opening': '<!-- wispr/1\n',
  };
  const carriers = Object.entries(malformed).map(([name, text]) =>
    refused(`carrier, ${name}`, 'object-unrecognised', utf8(text), { attacks: [3, 4] }),
  );
  const twice = encodeHtmlCarrier(encodeHtmlCarrier(object, utf8(page)), utf8(page));
  return Promise.all([
    ...carriers,
    refused('carrier, without an object', 'object-unrecognised', utf8(`<!-- wispr/1\n-->\n${page}`), { attacks: [1] }),
    refused('carrier, inside a carrier', 'object-unrecognised', twice, { attacks: [26] }),
    refused('carrier, CR LF behind its first line', 'object-unrecognised', utf8(good.replaceAll('\n', '\r\n')), {
      attacks: [3],
    }),
    refused('carrier, a space in front', 'object-unrecognised', concat(utf8(' '), utf8(good)), { attacks: [4] }),
    refused('carrier, another version', 'object-unrecognised', utf8(good.replace('wispr/1', 'wispr/2')), {
      attacks: [2],
    }),
    refused('carrier, cut object', 'object-truncated', encodeHtmlCarrier(object.subarray(0, -1), utf8(page)), {
      attacks: [10],
    }),
    refused('carrier, a byte too many', 'object-trailing', encodeHtmlCarrier(concat(object, utf8('x')), utf8(page)), {
      attacks: [11],
    }),
  ]);
}

/** The same bytes in lines that are all 76 characters long, the first of them padded. */
function paddedLines(object: Uint8Array): string[] {
  const lines = [toBase64(object.subarray(0, 56))];
  for (let offset = 56; offset < object.length; offset += 57)
    lines.push(toBase64(object.subarray(offset, offset + 57)));
  return lines;
}

function otherAlphabet(line: string): string {
  return line.replaceAll('+', '-').replaceAll('/', '_');
}

/** The last line must end in padding. */
function withUnusedBit(line: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const data = line.replace(/=+$/, '');
  if (data === line) throw new Error('this line has no padding');
  return data.slice(0, -1) + alphabet[alphabet.indexOf(data.slice(-1)) + 1] + line.slice(data.length);
}
