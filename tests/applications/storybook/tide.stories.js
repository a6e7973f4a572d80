export default { title: 'Tide' };
export const High = { render: ({ height }) => `<h1>${height} metres</h1>`, args: { height: 7 } };
