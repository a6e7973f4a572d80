import mermaid from 'mermaid';

export default async (main) => {
  mermaid.initialize({ startOnLoad: false });
  const { svg } = await mermaid.render('tide', 'sequenceDiagram\n  Moon->>Sea: pull');
  main.innerHTML = svg;
  return [main.querySelectorAll('svg text').length > 2, main.textContent.includes('pull')];
};
