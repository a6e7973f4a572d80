/** Entry of the single executable; elsewhere bin/wispr.js does the same (`npm run build:single`). */
import { startFrugally } from './start-frugally.ts';

startFrugally();
await import('./main.ts');
