import { MediaPlayer } from 'dashjs';
import { player, watch } from './film.js';

export default (main) => {
  const [video, dash] = [player(main), MediaPlayer().create()];
  dash.initialize(video, '/media/dash/film.mpd', false);
  return watch(video);
};
