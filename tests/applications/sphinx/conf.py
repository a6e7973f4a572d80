project = 'Harbour notes'
