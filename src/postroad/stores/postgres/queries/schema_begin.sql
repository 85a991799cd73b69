-- A change of the schema begins. Functions may name what is made after them.
set local search_path = postroad, pg_temp;
set local check_function_bodies = off
