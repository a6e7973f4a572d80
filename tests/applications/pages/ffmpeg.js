import { FFmpeg } from '@ffmpeg/ffmpeg';

const vendor = (name) => `${location.origin}/vendor/ffmpeg/${name}`;

/** Takes the sound out of a film. */
export async function convert(core) {
  const ffmpeg = new FFmpeg();
  const threads = core === 'core-mt' && { workerURL: vendor(`${core}/ffmpeg-core.worker.js`) };
  await ffmpeg.load({ classWorkerURL: vendor('worker.js'), coreURL: vendor(`${core}/ffmpeg-core.js`), wasmURL: vendor(`${core}/ffmpeg-core.wasm`), ...threads });
  await ffmpeg.writeFile('film.mp4', new Uint8Array(await (await fetch('/media/film.mp4')).arrayBuffer()));
  await ffmpeg.exec(['-i', 'film.mp4', '-t', '2', '-ar', '8000', '-ac', '1', 'sound.wav']);
  return (await ffmpeg.readFile('sound.wav')).length;
}

export default () => convert('core');
