import Hls from 'hls.js';
import { player, watch } from './film.js';

export default async (main) => {
  const seen = {};
  for (const kind of ['ts', 'fmp4', 'aes', 'ranges']) {
    const [video, hls] = [player(main), new Hls()];
    const failed = new Promise((_, reject) => hls.on(Hls.Events.ERROR, (_event, { fatal, details }) => fatal && reject(details)));
    hls.loadSource(`/media/${kind}/film.m3u8`);
    hls.attachMedia(video);
    seen[kind] = await Promise.race([watch(video), failed]);
    hls.destroy();
  }
  return seen;
};
