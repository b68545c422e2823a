"""What the data sets have in common: the record they return, files, splits and texts. No data set is found here."""
