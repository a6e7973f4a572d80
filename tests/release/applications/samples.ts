/** Samples that the applications work on: films, sound, pictures, maps, tables, a book, a disk; all made here. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { ROOT } from '../../support/programs.ts';

const WORDS = 20_000;

export async function writeSamples(folder: string): Promise<void> {
  const [data, media] = [join(folder, 'data'), join(folder, 'media')];
  await Promise.all([mkdir(data, { recursive: true }), mkdir(media, { recursive: true })]);
  await writeFilms(media);
  await writeTiles(folder, data);
  writeDatabase(join(data, 'words.sqlite'));
  const lines = Array.from({ length: WORDS }, (_, id) => `${wordOf(id)},${wordOf(id).length}`);
  await writeFile(join(data, 'words.csv'), `word,length\n${lines.join('\n')}\n`);
  await writeFile(join(data, 'book.pdf'), bookOf(40));
  await writeFile(join(data, 'disk.img'), disk());
  await writeFile(join(data, 'triangle.glb'), triangle());
  await writeFile(join(data, 'lunr.json'), searchIndex());
  await cp(join(ROOT, 'docs/openapi.json'), join(data, 'openapi.json'));
  await writeArrays(data);
}

const wordOf = (id: number) => `word-${id.toString(36).padStart(4, '0')}`;

/** @param args - in which no argument has spaces */
function ffmpeg(cwd: string, args: string): void {
  execFileSync('ffmpeg', ['-loglevel', 'error', '-y', ...args.split(' ')], { cwd });
}

async function writeFilms(media: string): Promise<void> {
  const input = '-f lavfi -i testsrc2=size=320x180:rate=25:duration=12 -f lavfi -i sine=440:duration=12';
  ffmpeg(media, `${input} -c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 50 -c:a aac -movflags faststart film.mp4`);
  await writeFile(join(media, 'film.vtt'), 'WEBVTT\n\n00:00.000 --> 00:02.000\nEbb\n');
  await writeFile(join(media, 'key.info'), '/media/aes/film.key\naes/film.key\n');
  for (const kind of ['ts', 'fmp4', 'aes', 'ranges', 'dash']) await mkdir(join(media, kind));
  await writeFile(join(media, 'aes/film.key'), randomBytes(16));
  const kinds = {
    ts: '',
    fmp4: ' -hls_segment_type fmp4',
    aes: ' -hls_key_info_file key.info',
    ranges: ' -hls_flags single_file',
  };
  for (const [kind, more] of Object.entries(kinds))
    ffmpeg(media, `-i film.mp4 -c copy -f hls -hls_time 2 -hls_playlist_type vod${more} ${kind}/film.m3u8`);
  ffmpeg(media, '-i film.mp4 -c copy -f dash -seg_duration 2 dash/film.mpd');
  ffmpeg(media, '-i film.mp4 -vn tone.wav');
  await rm(join(media, 'key.info'));
}

/** A picture as TIFF, as deep zoom, as tiles of a map, and those in one file. */
async function writeTiles(folder: string, data: string): Promise<void> {
  const picture = '-f lavfi -i testsrc2=size=2048x2048 -frames:v 1';
  ffmpeg(data, `${picture} -compression_algo raw -pix_fmt rgb24 picture.tif`);
  await writeFile(
    join(data, 'picture.dzi'),
    '<Image xmlns="http://schemas.microsoft.com/deepzoom/2008" Format="png" Overlap="0" TileSize="256"><Size Width="2048" Height="2048"/></Image>',
  );
  const tiles: Buffer[] = [];
  for (let zoom = 0; zoom <= 3; zoom++) {
    const across = 2 ** zoom;
    const deep = join(data, 'picture_files', String(8 + zoom));
    await mkdir(deep, { recursive: true });
    const [scale, split] = [`scale=${256 * across}:-1`, across === 1 ? '' : `,untile=${across}x${across}`];
    ffmpeg(deep, `-i ${data}/picture.tif -vf ${scale}${split} -start_number 0 %d.png`);
    for (let index = 0; index < across * across; index++) {
      const [x, y] = [index % across, Math.floor(index / across)];
      await rename(join(deep, `${index}.png`), join(deep, `${x}_${y}.png`));
      const column = join(folder, 'tiles', String(zoom), String(x));
      await mkdir(column, { recursive: true });
      await cp(join(deep, `${x}_${y}.png`), join(column, `${y}.png`));
      tiles.push(await readFile(join(column, `${y}.png`)));
    }
  }
  for (let level = 0; level < 8; level++) {
    await mkdir(join(data, 'picture_files', String(level)), { recursive: true });
    ffmpeg(data, `-i picture.tif -vf scale=${2 ** level}:-1 picture_files/${level}/0_0.png`);
  }
  await writeFile(join(data, 'tiles.pmtiles'), pmtilesOf(tiles, 3));
}

/** PMTiles, version 3: tiles in the order of their numbers here, which is not the curve's, so that they are no picture. */
function pmtilesOf(tiles: readonly Buffer[], maxZoom: number): Buffer {
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
  const entries = [
    tiles.map((_, id) => (id === 0 ? 0 : 1)),
    tiles.map(() => 1),
    tiles.map(({ length }) => length),
    tiles.map((_, id) => (id === 0 ? 1 : 0)),
  ];
  const directory = Buffer.from([tiles.length, ...entries.flat()].flatMap(varint));
  const metadata = Buffer.from('{}');
  const body = Buffer.concat(tiles);
  const header = Buffer.alloc(127);
  header.write('PMTiles\x03', 'latin1');
  const starts = [127, 127 + directory.length, 127 + directory.length + metadata.length];
  const ranges = [starts[0], directory.length, starts[1], metadata.length, starts[2], 0, starts[2], body.length];
  for (const [index, value] of [...ranges, tiles.length, tiles.length, tiles.length].entries())
    header.writeBigUInt64LE(BigInt(value ?? 0), 8 + 8 * index);
  header.set([1, 1, 1, 2, 0, maxZoom], 96); // clustered, not compressed, PNG
  for (const [index, degrees] of [-180, -85, 180, 85].entries()) header.writeInt32LE(degrees * 1e7, 102 + 4 * index);
  return Buffer.concat([header, directory, metadata, body]);
}

function writeDatabase(file: string): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA page_size = 4096; CREATE TABLE words (id INTEGER PRIMARY KEY, word, rest); BEGIN');
  const insert = database.prepare('INSERT INTO words VALUES (?, ?, ?)');
  for (let id = 0; id < WORDS; id++) insert.run(id, wordOf(id), 'tide '.repeat(40));
  database.exec('COMMIT');
  database.close();
}

/** A PDF with pages of 100,000 bytes each, so that a viewer asks for ranges. */
function bookOf(pages: number): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const offsets: number[] = [];
  const add = (text: string, bytes = Buffer.alloc(0)) => {
    offsets.push(parts.reduce((sum, { length }) => sum + length, 0));
    const tail = bytes.length > 0 ? '\nendstream' : '';
    parts.push(Buffer.from(`${offsets.length} 0 obj\n${text}`), bytes, Buffer.from(`${tail}\nendobj\n`));
  };
  const numbers = Array.from({ length: pages }, (_, index) => 4 + 2 * index);
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(`<< /Type /Pages /Count ${pages} /Kids [${numbers.map((number) => `${number} 0 R`).join(' ')}] >>`);
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  for (const number of numbers) {
    const content = `BT /F 24 Tf 50 700 Td (Page ${number / 2 - 1}) Tj ET %`;
    const stream = Buffer.concat([Buffer.from(content), Buffer.from(randomBytes(50_000).toString('hex'))]);
    add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents ${number + 1} 0 R >>`,
    );
    add(`<< /Length ${stream.length} >>\nstream\n`, stream);
  }
  const start = parts.reduce((sum, { length }) => sum + length, 0);
  const lines = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`);
  const [size, head] = [offsets.length + 1, `xref\n0 ${offsets.length + 1}\n0000000000 65535 f \n`];
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.concat([...parts, Buffer.from(head + lines.join('') + trailer)]);
}

/** Makes a disk of 64 MiB. Its boot sector reads the last one by the BIOS, and writes to the serial line what is in it. */
function disk(): Buffer {
  const bytes = Buffer.alloc(64 * 1024 * 1024);
  const read = [0x31, 0xc0, 0x8e, 0xd8, 0x8e, 0xc0, 0xbe, 0x20, 0x7c, 0xb4, 0x42, 0xcd, 0x13, 0xbe, 0x00, 0x80];
  const write = [0xac, 0x84, 0xc0, 0x74, 0x06, 0xba, 0xf8, 0x03, 0xee, 0xeb, 0xf5, 0xf4, 0xeb, 0xfd, 0, 0];
  const packet = [16, 0, 1, 0, 0x00, 0x80, 0, 0];
  bytes.set([...read, ...write, ...packet]);
  const last = bytes.length / 512 - 1;
  bytes.writeUInt32LE(last, 40);
  bytes.set([0x55, 0xaa], 510);
  bytes.write('high water\n', last * 512);
  return bytes;
}

/** A glTF of one white triangle, in binary. */
function triangle(): Buffer {
  const points = Buffer.from(new Float32Array([-1, -1, 0, 1, -1, 0, 0, 1, 0]).buffer);
  const scene = {
    asset: { version: '2.0' },
    scenes: [{ nodes: [0] }],
    nodes: [{ mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 }, material: 0 }] }],
    materials: [{ pbrMetallicRoughness: { metallicFactor: 0 } }],
    accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [-1, -1, 0], max: [1, 1, 0] }],
    bufferViews: [{ buffer: 0, byteLength: points.length }],
    buffers: [{ byteLength: points.length }],
  };
  const text = JSON.stringify(scene);
  const json = Buffer.from(text.padEnd(Math.ceil(text.length / 4) * 4));
  const words = (...values: number[]) => Buffer.from(new Uint32Array(values).buffer);
  const length = 12 + 8 + json.length + 8 + points.length;
  const chunks = [words(json.length, 0x4e4f534a), json, words(points.length, 0x004e4942), points];
  return Buffer.concat([words(0x46546c67, 2, length), ...chunks]);
}

function searchIndex(): string {
  const lunr = createRequire(join(ROOT, '.cache/applications/'))('lunr');
  return JSON.stringify(
    lunr(function fill(this: { ref(name: string): void; field(name: string): void; add(document: object): void }) {
      this.ref('id');
      this.field('text');
      this.add({ id: 'tide', text: 'The moon pulls the sea' });
      this.add({ id: 'pier', text: 'The pier was mended' });
    }),
  );
}

/** Holds the same four numbers in both versions of Zarr; the older one has its heads in hidden files. */
async function writeArrays(data: string): Promise<void> {
  const numbers = Buffer.from(new Int32Array([3, 1, 4, 1]).buffer);
  const [v2, v3] = [join(data, 'height.v2'), join(data, 'height.v3')];
  await Promise.all([mkdir(v2), mkdir(join(v3, 'c'), { recursive: true })]);
  const head = {
    ...{ zarr_format: 2, shape: [4], chunks: [4], dtype: '<i4', fill_value: 0, order: 'C', filters: null },
    compressor: { id: 'gzip', level: 1 },
  };
  await writeFile(join(v2, '.zarray'), JSON.stringify(head));
  await writeFile(join(v2, '0'), gzipSync(numbers));
  const newer = {
    ...{ zarr_format: 3, node_type: 'array', shape: [4], data_type: 'int32', fill_value: 0, attributes: {} },
    chunk_grid: { name: 'regular', configuration: { chunk_shape: [4] } },
    chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
    codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
  };
  await writeFile(join(v3, 'zarr.json'), JSON.stringify(newer));
  await writeFile(join(v3, 'c', '0'), numbers);
}
