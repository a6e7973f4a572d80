import { load } from './script.js';

export default async (main) => {
  await load('/vendor/swagger-ui-dist/swagger-ui-bundle.js');
  window.SwaggerUIBundle({ url: '/data/openapi.json', domNode: main });
  while (!main.querySelector('.opblock')) await new Promise(requestAnimationFrame);
  return main.querySelectorAll('.opblock').length;
};
