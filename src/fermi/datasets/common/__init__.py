"""What the data sets share: the record they return, their files, splits and texts. No data set is found here."""
