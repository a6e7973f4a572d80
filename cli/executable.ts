/** What the single executable runs; elsewhere bin/wispr.js does the same (`npm run build:single`). */
import { startFrugally } from './start-frugally.ts';

startFrugally();
await import('./main.ts');
