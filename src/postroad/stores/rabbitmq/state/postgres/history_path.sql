-- What the function that makes a day goes by.
set local search_path = postroad, pg_temp
