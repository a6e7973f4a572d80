import Reveal from 'reveal.js';

export default async (main) => {
  main.className = 'reveal';
  main.innerHTML = '<div class="slides"><section>Ebb</section><section>Flow<p class="fragment">more</p></section></div>';
  const deck = new Reveal(main, { embedded: true });
  await deck.initialize();
  for (let step = 0; step < 2; step++) deck.next();
  return [deck.getIndices(), deck.getTotalSlides(), location.hash];
};
