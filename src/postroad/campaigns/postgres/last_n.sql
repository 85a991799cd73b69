-- The highest number of a campaign's recipients; nobody else loads at the same time.
select last_n from postroad.campaign where id = $1 for update
