import { convert } from './ffmpeg.js';

export default async () => [crossOriginIsolated, await convert('core-mt')];
