-- Nobody else changes a campaign until the end of the transaction.
select from postroad.campaign where id = $1 for update
