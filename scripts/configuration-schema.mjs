// Writes the JSON Schema of wispr.json out of the schema that the program checks. To be run when that one changed; a test says so.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { configurationJsonSchema } from '../publisher/workspace/configuration/schema.ts';

const FILE = 'publisher/wispr.schema.json';
writeFileSync(FILE, JSON.stringify(configurationJsonSchema()));
spawnSync('biome', ['format', '--write', FILE], { stdio: 'inherit' });
