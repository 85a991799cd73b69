-- The highest number of a campaign's recipients.
select last_n from campaign where id = ?1
