// Goes on to the documents' origin, which forgets the reader too.
document.querySelector('#leaving').submit();
