import { getDocument, GlobalWorkerOptions } from 'pdfjs-dist';

export default async () => {
  GlobalWorkerOptions.workerSrc = '/vendor/pdfjs-dist/pdf.worker.mjs';
  const pdf = await getDocument({ url: '/data/book.pdf', disableAutoFetch: true, disableStream: true }).promise;
  const { items } = await (await pdf.getPage(30)).getTextContent();
  return [pdf.numPages, items.map(({ str }) => str).join('')];
};
